/* Runs image once. Replace the zeros by what your sensor gives, and the return value by what you do with the result. */
#include "image.h"

static uint8_t arena[IMAGE_ARENA_SIZE] IMAGE_ALIGNED;

int main(void)
{
    const image_t model = { IMAGE_WEIGHTS, arena, 0 };
    float *const input_x = image_input_x(&model);

    image_reset(&model);
    for (int32_t i = 0; i < 72; i++) {
        input_x[i] = 0;
    }
    image_run(&model);

    return (image_output_0(&model)[0] > 0.0f) ? 0 : 1;
}
