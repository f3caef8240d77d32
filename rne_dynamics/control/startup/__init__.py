"""The check of an arm's load before it may move: reported efforts against the model's gravity.

`load_check` gathers and judges, `diagnosis` ranks what could be wrong and words it, `causes` fits
each single thing that could be, `payload_estimate` holds the model's side.
"""
