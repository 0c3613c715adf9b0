"""Functions for `headrace map --python`, and what they do wrong."""

import os
import sys
import time


def upper(sample):
    text = sample.get("txt", b"").decode()
    return {"txt": text.upper(), "num": sample["__number__"], "key": sample["__key__"]}


def keep_even(sample):
    return None if int(sample["cls"]) % 2 else sample


def several(sample):
    return [{"part": b"a"}, {"part": b"b"}, {"__key__": f"own/{sample['__key__']}", "part": b"c"}]


def print_much(sample):
    print("this is no answer", flush=True)
    return sample


def raise_at_seven(sample):
    if int(sample["cls"]) == 7:
        print("seven is a bad number", file=sys.stderr)
        raise ValueError("no sevens here")
    return sample


def die_at_seven(sample):
    if int(sample["cls"]) == 7:
        print("dying", file=sys.stderr, flush=True)
        os._exit(3)
    return sample


def returns_a_float(sample):
    return {"cls": 1.5}


def bad_name(sample):
    return {"a/b": b""}


def sleep(sample):
    time.sleep(60)


NUMBER = 3
