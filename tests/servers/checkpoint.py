"""The files of the tiny model for vLLM and transformers: configuration, tokenizer, weights."""

import json
from pathlib import Path
from typing import Any, Final

from .answers import chat_template
from .tiny_model import END, HEAD, HEADS, MIDDLE, SHOWN, WIDTH, Matrix, Vocabulary, ones, vocabulary, weights

CONTEXT: Final = 4096
"""Tokens in a prompt and its answer."""

TURNING_LEAST: Final = HEAD // 2 - 1
"""Pairs of a head's dimensions are turned together: i and i + half."""

RESPONSE: Final = {
    "defaults": {"role": "assistant"},
    "start_anchor_pattern": r"<\|im_start\|>assistant\n<\|[a-z_]+\|>",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>", "content": "text"},
        "tool_calls": {
            "open_pattern": r"\s*<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"\s*<\|im_end\|>", "content": "text"},
    },
}
"""How transformers takes an answer apart."""


def write(folder: Path) -> None:
    """Write the model."""
    folder.mkdir(parents=True, exist_ok=True)
    known = vocabulary()
    files = {
        "config.json": _config(known),
        "generation_config.json": {"eos_token_id": known.tokens.index(END), "temperature": 0.0, "do_sample": False},
        "tokenizer.json": _tokenizer(known),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": END,
            "pad_token": "<|endoftext|>",
            "model_max_length": CONTEXT,
            "clean_up_tokenization_spaces": False,
            "chat_template": chat_template(),
            "response_template": RESPONSE,
        },
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False))
    (folder / "chat_template.jinja").write_text(chat_template())
    _write_weights(folder / "model.safetensors", tensors(known))


def _config(known: Vocabulary) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(known.tokens),
        "hidden_size": WIDTH,
        "intermediate_size": MIDDLE,
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HEAD,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-9,
        "rope_theta": 1e9,
        "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "bos_token_id": known.tokens.index("<|endoftext|>"),
        "eos_token_id": known.tokens.index(END),
        "torch_dtype": "float32",
    }


def _tokenizer(known: Vocabulary) -> dict[str, Any]:
    added = [
        {"id": known.tokens.index(token), "content": token, "special": token not in SHOWN} for token in known.special
    ]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "added_tokens": [token | flags for token in added],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(known.tokens)},
            "merges": [],
            "ignore_merges": False,
        },
    }


def tensors(known: Vocabulary) -> dict[str, Matrix]:
    """The weights by the names of a Llama checkpoint."""
    made = weights(known, TURNING_LEAST)
    layer = "model.layers.0."
    return {
        "model.embed_tokens.weight": made.embedding,
        f"{layer}input_layernorm.weight": ones(WIDTH),
        f"{layer}self_attn.q_proj.weight": made.query,
        f"{layer}self_attn.k_proj.weight": made.key,
        f"{layer}self_attn.v_proj.weight": made.value,
        f"{layer}self_attn.o_proj.weight": made.output,
        f"{layer}post_attention_layernorm.weight": ones(WIDTH),
        f"{layer}mlp.gate_proj.weight": Matrix(MIDDLE, WIDTH),
        f"{layer}mlp.up_proj.weight": Matrix(MIDDLE, WIDTH),
        f"{layer}mlp.down_proj.weight": Matrix(WIDTH, MIDDLE),
        "model.norm.weight": ones(WIDTH),
        "lm_head.weight": made.head,
    }


def _write_weights(path: Path, named: dict[str, Matrix]) -> None:
    """A safetensors file: the length of a JSON header, the header, then the numbers."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for name, matrix in named.items():
        size = 4 * len(matrix.values)
        shape = [matrix.rows, matrix.columns] if matrix.rows > 1 else [matrix.columns]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, start + size]}
        start += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for matrix in named.values():
            file.write(matrix.values.tobytes())
