"""The told step as text: small enough, and cut into lines."""
import json

LARGEST = 256 * 1024  # Bytes of a document (docs/formats/told-step.md)
_PIECE = 4000         # Characters of a piece: a line with its head stays below 4,096 bytes.


def text_of(document):
    return json.dumps(document, separators=(',', ':'), ensure_ascii=True, allow_nan=False)


def fitted(document, largest=LARGEST):
    """The document as text of at most `largest` bytes. Where it is larger, operators are left out: views first, which cost nothing,
    then those with the smallest tensors."""
    text = text_of(document)
    if len(text) <= largest:
        return text
    operators = document['operators']
    ordered = sorted(range(len(operators)), key=lambda i: (not operators[i].get('view', False), _elements(operators[i])))
    sizes = [len(text_of(operator)) + 1 for operator in operators]
    excess, left_out = len(text) - largest + 64, set()
    for i in ordered:
        if excess <= 0:
            break
        left_out.add(i)
        excess -= sizes[i]
    document = dict(document, dropped=document['dropped'] + sum(operators[i]['count'] for i in left_out),
                    operators=[operator for i, operator in enumerate(operators) if i not in left_out])
    return text_of(document)


def pieces(name, text):
    """Lines `doc NAME SEQ LAST TEXT`."""
    parts = [text[i:i + _PIECE] for i in range(0, len(text), _PIECE)]
    return ['doc {} {} {} {}'.format(name, i, int(i == len(parts) - 1), part).encode('ascii') for i, part in enumerate(parts)]


def _elements(operator):
    total = 0
    for x in operator['in'] + operator['out']:
        kinds = x['list'] if isinstance(x, dict) else [x + [1]] if x else []
        for _, shape, many in kinds:
            product = many
            for n in shape:
                product *= n
            total += product
    return total
