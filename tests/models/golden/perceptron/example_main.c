/* Runs perceptron once. Replace the zeros by what your sensor gives, and the return value by what you do with the result. */
#include "perceptron.h"

static uint8_t arena[PERCEPTRON_ARENA_SIZE] PERCEPTRON_ALIGNED;

int main(void)
{
    const perceptron_t model = { PERCEPTRON_WEIGHTS, arena, 0 };
    float *const input_input = perceptron_input_input(&model);

    perceptron_reset(&model);
    for (int32_t i = 0; i < 4; i++) {
        input_input[i] = 0;
    }
    perceptron_run(&model);

    return (perceptron_output_0(&model)[0] > 0.0f) ? 0 : 1;
}
