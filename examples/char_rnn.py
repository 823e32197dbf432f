"""A character LSTM that learns to write Python from the sources of Python's own standard library.

    python examples/char_rnn.py [--steps 1500] [--seed 0] [--length 400]

The cell is written here, with `nn.Linear`, after Hochreiter and Schmidhuber (1997) with forget gates (Gers et al.,
2000). It prints the loss in bits per character, then a text that the network makes up.
"""

from __future__ import annotations

import argparse
import math
import sysconfig
from collections import deque
from pathlib import Path

import tenora
from tenora import nn

MODULES = (
    "abc",
    "bisect",
    "contextlib",
    "copy",
    "dataclasses",
    "functools",
    "heapq",
    "queue",
    "random",
    "textwrap",
)
SEQUENCE, BATCH = 40, 32
State = tuple[tenora.Tensor, tenora.Tensor]


class LSTMCell(nn.Module):
    """One step of a long short-term memory."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.from_input = nn.Linear(inputs, 4 * hidden)
        self.from_hidden = nn.Linear(hidden, 4 * hidden, bias=False)
        with tenora.no_grad():
            self.from_input.bias[hidden : 2 * hidden] = 1.0  # at first the cell remembers

    def forward(self, x: tenora.Tensor, state: State) -> State:
        """The next state, output (N, hidden) and cell (N, hidden), after an input (N, inputs)."""
        output, cell = state
        gates = self.from_input(x) + self.from_hidden(output)  # (N, 4 * hidden)
        take, keep, show, candidate = gates.chunk(4, dim=1)
        cell = keep.sigmoid() * cell + take.sigmoid() * candidate.tanh()
        return show.sigmoid() * cell.tanh(), cell


class CharacterModel(nn.Module):
    """Scores of the next character after each character of a text."""

    def __init__(self, characters: int, hidden: int = 128, embedding: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding)
        self.cell = LSTMCell(embedding, hidden)
        self.scores = nn.Linear(hidden, characters)

    def start(self, size: int) -> State:
        """The state before a text."""
        return tenora.zeros(size, self.cell.hidden), tenora.zeros(size, self.cell.hidden)

    def forward(self, text: tenora.Tensor, state: State) -> tuple[tenora.Tensor, State]:
        """Scores (N, T, characters) for a text (N, T), and the state after it."""
        outputs = []
        for x in self.embedding(text).unbind(dim=1):
            state = self.cell(x, state)
            outputs.append(state[0])
        return self.scores(tenora.stack(outputs, dim=1)), state


def read_sources() -> str:
    """The text of some modules of the standard library, without what is rare enough to be a name's accent."""
    folder = Path(sysconfig.get_path("stdlib"))
    text = "".join((folder / f"{name}.py").read_text(encoding="utf-8") for name in MODULES)
    return "".join(character for character in text if character.isascii())


def train(model: CharacterModel, text: tenora.Tensor, steps: int) -> None:
    """Trains on stretches of the text that begin anywhere; prints the mean loss of the last 50 steps."""
    optimizer = tenora.optim.Adam(model.parameters(), lr=4e-3)
    loss_function = nn.CrossEntropyLoss()
    stretch = tenora.arange(SEQUENCE + 1)
    recent: deque[float] = deque(maxlen=50)
    for step in range(1, steps + 1):
        begins = tenora.randint(0, len(text) - SEQUENCE, (BATCH, 1))
        chosen = text[begins + stretch]  # (BATCH, SEQUENCE + 1)
        scores, _ = model(chosen[:, :-1], model.start(BATCH))
        loss = loss_function(scores.flatten(0, 1), chosen[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recent.append(loss.item() / math.log(2))
        if step % 50 == 0 or step == steps:
            print(f"step {step}: {sum(recent) / len(recent):.3f} bits per character", flush=True)


@tenora.no_grad()
def write(model: CharacterModel, alphabet: str, length: int, begin: str = "\ndef ", heat: float = 0.7) -> str:
    """A text that goes on from `begin`; the less `heat`, the likelier the characters that are drawn."""
    text = [alphabet.index(character) for character in begin]
    scores, state = model(tenora.tensor([text]), model.start(1))
    for _ in range(length):
        drawn = (scores[:, -1] / heat).softmax(dim=1).multinomial(1)  # (1, 1)
        text.append(drawn.item())
        scores, state = model(drawn, state)
    return "".join(alphabet[place] for place in text)


def main(arguments: list[str] | None = None) -> None:
    """Trains and writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=400, help="characters to write at the end")
    options = parser.parse_args(arguments)

    tenora.manual_seed(options.seed)
    text = read_sources()
    alphabet = "".join(sorted(set(text)))
    places = {character: place for place, character in enumerate(alphabet)}
    print(f"{len(text)} characters, {len(alphabet)} different ones")
    model = CharacterModel(len(alphabet))
    train(model, tenora.tensor([places[character] for character in text]), options.steps)
    print(write(model, alphabet, options.length))


if __name__ == "__main__":
    main()
