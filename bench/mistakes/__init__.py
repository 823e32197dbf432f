"""Twenty-four mistakes that users make in training, and whether the error names module, op, values and line."""
