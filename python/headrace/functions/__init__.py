"""The user's own functions on samples and batches, between the engine and the training loop.

describe   what a step of the pipeline does: the function, its fields, its random numbers
draws      the seeded generator of each position
columns    columns over memory, read row by row
results    what functions returned, gathered into columns again
stages     all functions over one batch
batch      the batch that comes out
stream     batches in order, the functions run in this process or in `headrace.workers`
assembler  batches filled up, and documents packed as they come: `refill`, `token_packing`
planned_packing  documents packed into rows that the engine planned
"""
