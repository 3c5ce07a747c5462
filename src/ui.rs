//! How it is shown, from records only.
