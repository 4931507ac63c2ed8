"""llama.cpp's server with a tiny model: `python -m tests.llama_cpp.server PORT`, with the Python that has it.

The model knows nothing but which token follows which: its last matrix is that table, and its attention adds nothing.
Each answer is a chain of tokens that no other answer has, and the end of a prompt is a token that begins one. All
tokens have a score of their own as well, by which a grammar that forbids the chain is filled in shortly. So the
templates, parsers and grammars of llama.cpp do real work, and what they make of it is known.
"""

import sys
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gguf
import numpy
import xllamacpp

from tests.llama_cpp.answers import ANSWERS, CHAT_TEMPLATE, ENDLESS, FORCED, SIZE

END = "<|im_end|>"
SHORT = {END: 26, '"': 24, "}": 23, "]": 22, "{": 21, "<": 20, "[": 20, ",": 19, ":": 18, "0": 17}
"""Where a grammar decides, what closes comes first."""
NEXT, OTHERWISE = 64, 32
"""The score of the token that follows, and of the first one of a call behind an answer that may not end yet."""
HEADS = 8


def letters() -> list[str]:
    """The letter that stands for each byte in a vocabulary, as GPT-2 defined it."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in plain else next(others)) for byte in range(0x100)]


def cut(text: str, used: dict[str, int]) -> list[str]:
    """The text in pieces of three letters or more, which are all new; the last takes what is left."""
    size = 3
    while text[:size] in used or 0 < len(text) - size < size:
        size += 1
    used[text[:size]] = len(used)
    return [text[:size], *(cut(text[size:], used) if text[size:] else [])]


def chains() -> tuple[dict[str, int], list[list[int]]]:
    """The numbers of all tokens, and of those of each answer."""
    alphabet = letters()
    starts = [f"<|{number}|>" for number in range(len(ANSWERS))]
    tokens = {token: number for number, token in enumerate([*alphabet, END, *starts])}
    made = []
    for start, (words, answer) in zip(starts, ANSWERS.items(), strict=True):
        pieces = cut("".join(alphabet[byte] for byte in answer.encode()), tokens)
        made.append([tokens[token] for token in (start, *pieces, pieces[0] if words in ENDLESS else END)])
    return tokens, made


def write(path: Path) -> None:
    """The file of the model."""
    tokens, made = chains()
    width = -(-(len(tokens) + 1) // 64) * 64
    embedding, head = (numpy.zeros((len(tokens), width), numpy.float32) for _ in range(2))
    embedding[:, -1] = 1
    embedding[range(len(tokens)), range(len(tokens))] = 1
    head[:0x100, -1] = 1  # those of one byte begin nothing else
    for short, score in SHORT.items():
        head[tokens[short], -1] = score
    [_, called, *_] = made[[*ANSWERS].index(FORCED)]
    for chain in made:
        head[called, chain[-2]] = OTHERWISE
        for token, following in pairwise(chain):
            head[following, token] = NEXT
    head /= (width / 2) ** 0.5  # to which the norm makes the two ones of a token
    square, one = numpy.zeros((width, width), numpy.float32), numpy.ones(width, numpy.float32)
    tensors: dict[str, Any] = {"token_embd": embedding, "output": head, "output_norm": one}
    tensors |= {f"blk.0.{name}_norm": one for name in ("attn", "ffn")}
    names = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    tensors |= {f"blk.0.{name}": square for name in names}

    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(SIZE)
    file.add_embedding_length(width)
    file.add_feed_forward_length(width)
    file.add_block_count(1)
    file.add_head_count(HEADS)
    file.add_layer_norm_rms_eps(1e-9)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list(list(tokens))
    special = range(0x100, 0x101 + len(ANSWERS))
    normal, control = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    file.add_token_types([control if number in special else normal for number in tokens.values()])
    file.add_token_merges(["Ā ā"])
    file.add_eos_token_id(tokens[END])
    file.add_bos_token_id(tokens[END])
    file.add_add_bos_token(False)
    file.add_chat_template(CHAT_TEMPLATE)
    for name, tensor in tensors.items():
        file.add_tensor(f"{name}.weight", tensor)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def main() -> None:
    """It ends when its standard input does."""
    with TemporaryDirectory() as folder:
        write(path := Path(folder) / "tiny.gguf")
        wanted = xllamacpp.CommonParams()
        wanted.model.path, wanted.model_alias = str(path), {"tiny"}
        wanted.port = int(sys.argv[1])
        wanted.n_parallel, wanted.n_ctx, wanted.kv_unified = 4, 4 * SIZE, False
        wanted.sampling.temp = 0
        wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 1
        wanted.use_jinja = wanted.endpoint_slots = True
        server = xllamacpp.Server(wanted)
        sys.stdin.read()
        del server


if __name__ == "__main__":
    main()
