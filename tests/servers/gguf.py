"""The file of the tiny model for llama.cpp, in the GGUF format, version 3."""

import struct
from pathlib import Path
from typing import Any, Final

from .answers import chat_template
from .checkpoint import CONTEXT
from .tiny_model import END, HEAD, HEADS, MIDDLE, SHOWN, WIDTH, Matrix, Vocabulary, ones, vocabulary, weights

TURNING_LEAST: Final = HEAD - 2
"""llama.cpp turns neighbouring dimensions of a head together."""

_ALIGNED: Final = 32
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4
_UINT32, _INT32, _FLOAT32, _STRING, _ARRAY = 4, 5, 6, 8, 9


def write(path: Path) -> None:
    """Write the model."""
    known = vocabulary()
    named = _tensors(known)
    keys = _keys(known)
    result = b"GGUF" + struct.pack("<IQQ", 3, len(named), len(keys)) + b"".join(keys)
    start = 0
    for name, matrix in named.items():
        sizes = [matrix.columns, matrix.rows] if matrix.rows > 1 else [matrix.columns]
        result += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, start)
        start += _padded(4 * len(matrix.values))
    with path.open("wb") as file:
        file.write(result.ljust(_padded(len(result)), b"\0"))
        for matrix in named.values():
            data = matrix.values.tobytes()
            file.write(data.ljust(_padded(len(data)), b"\0"))


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> tuple[int, bytes]:
    """The number of a type, and the value itself."""
    match value:
        case str():
            return _STRING, _text(value)
        case int():
            return _UINT32, struct.pack("<I", value)
        case float():
            return _FLOAT32, struct.pack("<f", value)
        case [int(), *_]:
            return _ARRAY, struct.pack(f"<IQ{len(value)}i", _INT32, len(value), *value)
        case _:
            return _ARRAY, struct.pack("<IQ", _STRING, len(value)) + b"".join(_text(text) for text in value)


def _keys(known: Vocabulary) -> list[bytes]:
    kinds = [
        _NORMAL if token not in known.special else _USER_DEFINED if token in SHOWN else _CONTROL
        for token in known.tokens
    ]
    values = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": MIDDLE,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-9,
        "llama.rope.dimension_count": HEAD,
        "llama.rope.freq_base": 1e9,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": list(known.tokens),
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": ["Ā ā"],
        "tokenizer.ggml.eos_token_id": known.tokens.index(END),
        "tokenizer.ggml.bos_token_id": known.tokens.index("<|endoftext|>"),
        "tokenizer.ggml.padding_token_id": known.tokens.index("<|endoftext|>"),
        "tokenizer.chat_template": chat_template(),
    }
    result = []
    for name, value in values.items():
        kind, data = _value(value)
        result.append(_text(name) + struct.pack("<I", kind) + data)
    return result


def _tensors(known: Vocabulary) -> dict[str, Matrix]:
    made = weights(known, TURNING_LEAST)
    return {
        "token_embd.weight": made.embedding,
        "blk.0.attn_norm.weight": ones(WIDTH),
        "blk.0.attn_q.weight": made.query,
        "blk.0.attn_k.weight": made.key,
        "blk.0.attn_v.weight": made.value,
        "blk.0.attn_output.weight": made.output,
        "blk.0.ffn_norm.weight": ones(WIDTH),
        "blk.0.ffn_gate.weight": Matrix(MIDDLE, WIDTH),
        "blk.0.ffn_up.weight": Matrix(MIDDLE, WIDTH),
        "blk.0.ffn_down.weight": Matrix(WIDTH, MIDDLE),
        "output_norm.weight": ones(WIDTH),
        "output.weight": made.head,
    }
