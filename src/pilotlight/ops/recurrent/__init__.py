"""LSTM, GRU and plain recurrent layers."""
