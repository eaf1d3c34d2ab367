# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the small test model: a Llama with random weights and a real tokenizer.

Runs inside the engine image, which has torch, tokenizers and safetensors:
``python3 make_model.py OUT_FOLDER``. The same files in give the same bytes out.

The model says nothing sensible, but it is a model: every engine path (tokenizing, prefill, paged
attention, sampling, detokenizing) is the real one. Two things are arranged so that tests can lean on it:

* a token without a visible character (special tokens, blanks, half of a UTF-8 character) has a zero row in
  the output matrix, so its logit is 0 while the best of 4096 others never is: at temperature 0 no
  answer ends early and every generated token can be seen in the text;
* attention is made sharp, so that the next token depends on many earlier ones: a lost, doubled or
  exchanged token changes all text after it instead of falling into a short loop.
"""
from __future__ import annotations

import json
import math
import pathlib
import sys

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SEED = 20260101
CORPUS = pathlib.Path("/usr/share/common-licenses")
SPECIAL = ("<s>", "</s>", "<pad>", "<|system|>", "<|user|>", "<|assistant|>")
VOCAB = 4096
HIDDEN = 128
LAYERS = 2
HEADS = 2
KV_HEADS = 1
HEAD_SIZE = 64  # the CPU attention kernel refuses smaller ones
INTERMEDIATE = 128
POSITIONS = 65536
# Standard deviation of the attention scores before softmax: about 1 is flat, 4 looks at few tokens.
SHARPNESS = 4.0

CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message['role'] in ['system', 'user', 'assistant'] %}{{ '<|' + message['role'] + '|>' }}"
    "{% else %}{{ '<|user|>' }}{% endif %}"
    "{{ message['content'] }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def train_tokenizer(corpus):
    """Return a byte-level BPE tokenizer with VOCAB entries trained on the files of ``corpus``."""
    files = sorted({path.resolve() for path in corpus.iterdir() if path.is_file()})
    if not files:
        raise SystemExit(f"make_model: found no text in {corpus}, wanted the licence texts of base-files")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in files)
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() != VOCAB:
        raise SystemExit(f"make_model: the tokenizer has {tokenizer.get_vocab_size()} entries, wanted {VOCAB}")
    # Plain prompts get the start token; chat prompts carry it in the template already.
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    return tokenizer


def visible_tokens(tokenizer):
    """Return the ids whose text is printable ASCII with at least one character that is not a blank."""
    ids = []
    for token in range(VOCAB):
        text = tokenizer.decode([token], skip_special_tokens=True)
        if text.isascii() and text.isprintable() and text.strip():
            ids.append(token)
    return ids


def random_weights(visible):
    """Return the state dict (bfloat16 tensors) in the names of LlamaForCausalLM."""
    generator = torch.Generator().manual_seed(SEED)

    def normal(rows, columns, std):
        return torch.randn(rows, columns, generator=generator) * std

    unit = 1.0 / math.sqrt(HIDDEN)
    # Scores are q.k/sqrt(HEAD_SIZE) over normalised input: both projections share the sharpness.
    score = unit * math.sqrt(SHARPNESS)
    state = {"model.embed_tokens.weight": normal(VOCAB, HIDDEN, 1.0)}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        state[name + "self_attn.q_proj.weight"] = normal(HEADS * HEAD_SIZE, HIDDEN, score)
        state[name + "self_attn.k_proj.weight"] = normal(KV_HEADS * HEAD_SIZE, HIDDEN, score)
        state[name + "self_attn.v_proj.weight"] = normal(KV_HEADS * HEAD_SIZE, HIDDEN, unit)
        state[name + "self_attn.o_proj.weight"] = normal(HIDDEN, HEADS * HEAD_SIZE, 2.0 * unit)
        state[name + "mlp.gate_proj.weight"] = normal(INTERMEDIATE, HIDDEN, unit)
        state[name + "mlp.up_proj.weight"] = normal(INTERMEDIATE, HIDDEN, unit)
        state[name + "mlp.down_proj.weight"] = normal(HIDDEN, INTERMEDIATE, 2.0 * unit)
        state[name + "input_layernorm.weight"] = torch.ones(HIDDEN)
        state[name + "post_attention_layernorm.weight"] = torch.ones(HIDDEN)
    state["model.norm.weight"] = torch.ones(HIDDEN)
    head = torch.zeros(VOCAB, HIDDEN)
    # 8 / sqrt(HIDDEN): logits of standard deviation 8, so the best one is far above the zero rows.
    head[visible] = normal(VOCAB, HIDDEN, 8.0 * unit)[visible]
    state["lm_head.weight"] = head
    return {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in state.items()}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main(argv):
    if len(argv) != 2:
        raise SystemExit("usage: make_model.py OUT_FOLDER")
    out = pathlib.Path(argv[1])
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = train_tokenizer(CORPUS)
    visible = visible_tokens(tokenizer)
    bos, eos, pad = (tokenizer.token_to_id(token) for token in ("<s>", "</s>", "<pad>"))
    tokenizer.save(str(out / "tokenizer.json"))
    write_json(out / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>",
        "additional_special_tokens": list(SPECIAL[3:]),
        "clean_up_tokenization_spaces": False,
        "model_max_length": POSITIONS,
        "chat_template": CHAT_TEMPLATE,
    })
    write_json(out / "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD_SIZE,
        "vocab_size": VOCAB, "max_position_embeddings": POSITIONS,
        "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False,
        "attention_bias": False, "mlp_bias": False,
        "bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad,
        "torch_dtype": "bfloat16",
    })
    write_json(out / "generation_config.json", {
        "bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad,
    })
    save_file(random_weights(visible), str(out / "model.safetensors"), metadata={"format": "pt"})
    for path in out.iterdir():
        path.chmod(0o644)  # an engine without capabilities reads them as any user
    size = sum(path.stat().st_size for path in out.iterdir())
    print(f"model: {len(visible)} of {VOCAB} tokens visible, {size / 1e6:.1f} MB in {out}")


if __name__ == "__main__":
    main(sys.argv)
