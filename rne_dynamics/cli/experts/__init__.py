"""Commands for experts: the model as URDF or C, machine code in advance."""
