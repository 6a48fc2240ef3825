# For isinstance(): bool is no int here.
Integral = (int, bool)
Number = Real = Complex = (int, bool, float)
