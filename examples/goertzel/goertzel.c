/* For each row and each frequency one pass over the samples, with two numbers of memory. */
void goertzel_f32(const float *x, const float *turns, float *y, int32_t n, int32_t t, int32_t k)
{
    for (int32_t row = 0; row < n; row++) {
        const float *samples = &x[row * t];
        for (int32_t tone = 0; tone < k; tone++) {
            const float turn = turns[tone];
            float last = 0.0f;
            float before = 0.0f;
            for (int32_t i = 0; i < t; i++) {
                const float now = samples[i] + ((turn * last) - before);
                before = last;
                last = now;
            }
            y[(row * k) + tone] = ((last * last) + (before * before)) - ((turn * last) * before);
        }
    }
}
