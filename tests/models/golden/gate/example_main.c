/* Runs gate once. Replace the zeros by what your sensor gives, and the return value by what you do with the result. */
#include "gate.h"

static uint8_t arena[GATE_ARENA_SIZE] GATE_ALIGNED;
static uint8_t state[GATE_STATE_SIZE] GATE_ALIGNED;

int main(void)
{
    const gate_t model = { GATE_WEIGHTS, arena, state };
    float *const input_x = gate_input_x(&model);

    gate_reset(&model);
    for (int32_t i = 0; i < 4; i++) {
        input_x[i] = 0;
    }
    gate_run(&model);

    return (gate_output_0(&model)[0] > 0.0f) ? 0 : 1;
}
