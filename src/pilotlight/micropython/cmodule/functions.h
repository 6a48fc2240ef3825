/* The compiler's functions of numbers for all other files. On boards they are compiled once, with the rows; on hosts they
 * are inlined, so that loops are vectorized. Include this before the kernels that call them. */
#ifndef PT_FUNCTIONS_H
#define PT_FUNCTIONS_H

#include "bits_f32.h"

#if defined(__x86_64__) || defined(__aarch64__)
#include "cos_f32.h"
#include "exp_f32.h"
#include "log_f32.h"
#include "pow_f32.h"
#include "sigmoid_f32.h"
#include "sin_f32.h"
#include "tanh_f32.h"
#else
/* not from their headers */
#define PL_COS_F32_H
#define PL_EXP_F32_H
#define PL_LOG_F32_H
#define PL_POW_F32_H
#define PL_SIGMOID_F32_H
#define PL_SIN_F32_H
#define PL_TANH_F32_H
#define pl_cos_f32 pt_cos_f32
#define pl_exp_f32 pt_exp_f32
#define pl_log_f32 pt_log_f32
#define pl_pow_f32 pt_pow_f32
#define pl_sigmoid_f32 pt_sigmoid_f32
#define pl_sin_f32 pt_sin_f32
#define pl_tanh_f32 pt_tanh_f32
#endif

float pt_cos_f32(float x);
float pt_exp_f32(float x);
float pt_log_f32(float x);
float pt_pow_f32(float x, float y);
float pt_sigmoid_f32(float x);
float pt_sin_f32(float x);
float pt_tanh_f32(float x);

#endif
