# Recurrent layers: a cell for each step. A list stands for the two states of an LSTM.
import _torch


def _layers(cell, input, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    ways, each = 2 if bidirectional else 1, 4 if has_biases else 2
    x = input.transpose(0, 1) if batch_first else input
    for state in states:
        if input.dim() != 3 or state.dim() != 3 or state.shape[:2] != (num_layers * ways, x.shape[1]) or not len(x):
            raise RuntimeError("recurrent layer: input %s and hidden state %s do not fit" % (input.shape, state.shape))
    if len(params) != num_layers * ways * each:
        raise NotImplementedError("recurrent layers with projections")
    last = []
    for layer in range(num_layers):
        if layer and train and dropout:
            x = _torch.dropout(x, dropout, True)
        found = []
        for number in range(layer * ways, layer * ways + ways):
            weights = params[number * each : number * each + each]
            now = [state[number] for state in states]
            y = [None] * len(x)
            for k in range(len(x)):
                at = -1 - k if number % ways else k
                now = cell(x[at], now if len(now) > 1 else now[0], *weights)
                now = now if isinstance(now, tuple) else (now,)
                y[at] = now[0]
            last.append(now)
            found.append(_torch.stack(y))
        x = _torch.cat(found, 2) if ways == 2 else found[0]
    last = [_torch.stack([now[k] for now in last]) for k in range(len(states))]
    return (x.transpose(0, 1) if batch_first else x,) + tuple(last)


def lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    return _layers(
        _torch.lstm_cell, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )


def gru(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    return _layers(
        _torch.gru_cell, input, [hx], params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )


def rnn_tanh(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    return _layers(
        _torch.rnn_tanh_cell, input, [hx], params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )


def rnn_relu(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    return _layers(
        _torch.rnn_relu_cell, input, [hx], params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
