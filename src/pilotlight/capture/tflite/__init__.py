"""TensorFlow Lite files (`.tflite`) → Graph, with TFLM as their truth."""
