//! The app as a value: messages in, requests and screens out.
