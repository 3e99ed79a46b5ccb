//! Choices that have names.

/// `Display` and `FromStr` of an enum by its `ALL` and `name`.
macro_rules! named_choice {
    ($choice:ty, $what:literal) => {
        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $crate::Error;

            fn from_str(name: &str) -> $crate::Result<Self> {
                Self::ALL.into_iter().find(|choice| choice.name() == name).ok_or_else(|| {
                    $crate::Error::InvalidArgument {
                        name: $what,
                        value: name.into(),
                        allowed: Self::ALL.map(Self::name).join(", "),
                    }
                })
            }
        }
    };
}

pub(crate) use named_choice;
