//! The only loop: waits for input, asks the machine, performs the effects.
