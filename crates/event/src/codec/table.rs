//! The macros in which records and their values are declared: each once, with what stands on disk, what is said of it, and examples.

/// An enumeration that stands in the flags of a record, by its order.
macro_rules! flags {
    ($($(#[$attribute:meta])* $what:literal enum $name:ident { $($(#[$of:meta])* $value:ident,)* })*) => {$(
        $(#[$attribute])*
        pub enum $name { $($(#[$of])* $value,)* }

        impl $crate::codec::Form<$name> for $crate::codec::Plain {
            const TEXT: &'static str = concat!("flags 0, 1, …:" $(, " `", stringify!($value), "`,")*);

            #[inline]
            fn flags(value: &$name) -> u8 {
                *value as u8
            }

            #[inline]
            fn write(_: &$name, _: &mut $crate::codec::Encoder) {}

            #[inline]
            fn read(flags: u8, bytes: &mut $crate::codec::Decoder<'_>) -> $crate::codec::Result<$name> {
                const VALUES: &[$name] = &[$($name::$value),*];
                VALUES.get(usize::from(flags)).copied().ok_or_else(|| bytes.invalid($what))
            }

            fn examples() -> Vec<$name> {
                vec![$($name::$value),*]
            }
        }
    )*};
}

/// The form of a field: that of its type, or the one that the table names.
macro_rules! form {
    () => {
        $crate::codec::Plain
    };
    ($form:ident) => {
        $crate::codec::$form
    };
}

/// The records of a log. A definition's number is its tag; an event's too, behind a stroke the flag that tells it from another one of the
/// same tag; of an extended event it is the byte after the tag. Bytes stand in the order of the fields; flags are bits of the tag.
macro_rules! records {
    (
        definitions {$(
            $(#[doc = $definition_line:literal])*
            #[derive($($derived:ident),*)]
            $definition_tag:literal $definition:ident ($structure:ident) $(defines $id:ident)? {$(
                $(#[doc = $member_line:literal])* $member:ident: $member_type:ty $(as $member_form:ident)?,
            )*}
        )*}
        events {$(
            $(#[doc = $event_line:literal])*
            $event_tag:literal $(/ $event_flag:literal)? $event:ident $({$(
                $(#[doc = $field_line:literal])* $field:ident: $field_type:ty $(as $field_form:ident)?,
            )*})?
        )*}
        extended {$(
            $(#[doc = $extended_line:literal])*
            $extended_tag:literal $extended:ident
            $({$($(#[doc = $part_line:literal])* $part:ident: $part_type:ty $(as $part_form:ident)?,)*})?
            $(($whole:ident: $whole_type:ty))?
        )*}
    ) => {
        /// One record of a log. Definitions of one kind appear in the order of their ids.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Record {
            /// Defines the next [`TextId`].
            Text(String),
            $($(#[doc = $definition_line])* $definition($structure),)*
            /// The number in the whole run of the definition that follows, where a log holds only those definitions that its
            /// events need: ids in that log are these numbers.
            Number(u32),
            /// Something that happened.
            Event(Event),
        }

        $(
            $(#[doc = $definition_line])*
            #[derive($($derived),*)]
            pub struct $structure {$(
                $(#[doc = $member_line])* pub $member: $member_type,
            )*}
        )*

        /// Kinds of [`Event`].
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum EventKind {
            $($(#[doc = $event_line])* $event $({$($(#[doc = $field_line])* $field: $field_type,)*})?,)*
            $(
                $(#[doc = $extended_line])*
                $extended $({$($(#[doc = $part_line])* $part: $part_type,)*})? $(($whole_type))?,
            )*
        }

        impl Encoder {
            /// Appends one record.
            pub fn push(&mut self, record: &Record) {
                match record {
                    Record::Text(text) => {
                        self.tag(TEXT, 0);
                        Plain::write(text, self);
                    }
                    $(Record::$definition(value) => {
                        self.tag(
                            $definition_tag,
                            0 $(| <form!($($member_form)?) as Form<$member_type>>::flags(&value.$member))*,
                        );
                        $(<form!($($member_form)?) as Form<$member_type>>::write(&value.$member, self);)*
                    })*
                    Record::Number(number) => self.extended(NUMBER, 0, None, None, |out| Plain::write(number, out)),
                    Record::Event(event) => self.event(event),
                }
            }

            fn event(&mut self, event: &Event) {
                match &event.kind {
                    $(EventKind::$event { $($($field,)*)? } => {
                        self.tag(
                            $event_tag,
                            0 $(| $event_flag)?
                                $($(| <form!($($field_form)?) as Form<$field_type>>::flags($field))*)?,
                        );
                        self.moment(event);
                        $($(<form!($($field_form)?) as Form<$field_type>>::write($field, self);)*)?
                    })*
                    $(EventKind::$extended { $($($part,)*)? $(0: $whole)? } => self.extended(
                        $extended_tag,
                        0 $($(| <form!($($part_form)?) as Form<$part_type>>::flags($part))*)?
                            $(| <Plain as Form<$whole_type>>::flags($whole))?,
                        Some(0 $($(| <form!($($part_form)?) as Form<$part_type>>::lead($part))*)?),
                        Some(event),
                        |_out| {
                            $($(<form!($($part_form)?) as Form<$part_type>>::write($part, _out);)*)?
                            $(<Plain as Form<$whole_type>>::write($whole, _out);)?
                        },
                    ),)*
                }
            }
        }

        impl Decoder<'_> {
            /// A record whose kind is in its first byte.
            pub(crate) fn plain(&mut self, tag: u8, flags: u8) -> Result<Record> {
                Ok(match tag {
                    TEXT => Record::Text(Plain::read(flags, self)?),
                    $($definition_tag => Record::$definition($structure {
                        $($member: <form!($($member_form)?) as Form<$member_type>>::read(flags, self)?,)*
                    }),)*
                    _ => {
                        let (time, cpu, thread) = self.moment()?;
                        let kind = match tag {
                            $($event_tag $(if flags == $event_flag)? => EventKind::$event {$($(
                                $field: <form!($($field_form)?) as Form<$field_type>>::read(flags, self)?,
                            )*)?},)*
                            _ => return Err(self.invalid("record tag")),
                        };
                        Record::Event(Event { time, cpu, thread, kind })
                    }
                })
            }

            /// An event whose kind has a byte of its own; `None` where this version does not know the kind.
            pub(crate) fn extended_kind(&mut self, tag: u8, flags: u8) -> Result<Option<EventKind>> {
                Ok(Some(match tag {
                    $($extended_tag => EventKind::$extended {
                        $($($part: <form!($($part_form)?) as Form<$part_type>>::read(flags, self)?,)*)?
                        $(0: <Plain as Form<$whole_type>>::read(flags, self)?,)?
                    },)*
                    _ => return Ok(None),
                }))
            }
        }

        impl IdKind {
            /// The kind of id that a record defines; `None` for what has no id.
            #[must_use]
            pub fn defined_by(record: &Record) -> Option<IdKind> {
                match record {
                    Record::Text(_) => Some(IdKind::Text),
                    $($(Record::$definition(_) => Some(IdKind::$id),)?)*
                    _ => None,
                }
            }
        }

        impl Record {
            /// Gives every id that the record names the number that `numbers` has for it. An id that has none is left out; false
            /// where the record means nothing without it.
            pub fn renumber(&mut self, numbers: &mut NewNumbers<'_>) -> bool {
                match self {
                    Record::Text(_) | Record::Number(_) => true,
                    $(Record::$definition(value) => {
                        true $(&& <form!($($member_form)?) as Form<$member_type>>::renumber(&mut value.$member, numbers))*
                    })*
                    Record::Event(event) => {
                        (event.kind.is_of_no_thread() || Plain::renumber(&mut event.thread, numbers))
                            && event.kind.renumber(numbers)
                    }
                }
            }

            /// Records of every kind, with what is largest, least and absent in each field: what tests and fuzzing begin with.
            #[must_use]
            pub fn examples() -> Vec<Record> {
                let mut records: Vec<Record> =
                    <Plain as Form<String>>::examples().into_iter().map(Record::Text).collect();
                records.extend(<Plain as Form<u32>>::examples().into_iter().map(Record::Number));
                $({
                    let most = [1 $(, <form!($($member_form)?) as Form<$member_type>>::examples().len())*];
                    records.extend((0..most.into_iter().max().unwrap_or(1)).map(|_turn| Record::$definition($structure {
                        $($member: turn(<form!($($member_form)?) as Form<$member_type>>::examples(), _turn),)*
                    })));
                })*
                let event = |kind| Event { time: Time::from_nanoseconds(5_000_000_000), cpu: 3, thread: ThreadId(9), kind };
                records.extend(EventKind::examples().into_iter().map(|kind| Record::Event(event(kind))));
                records
            }
        }

        impl EventKind {
            fn renumber(&mut self, numbers: &mut NewNumbers<'_>) -> bool {
                let _ = &numbers;
                match self {
                    $(EventKind::$event { $($($field,)*)? } => {
                        true $($(&& <form!($($field_form)?) as Form<$field_type>>::renumber($field, numbers))*)?
                    })*
                    $(EventKind::$extended { $($($part,)*)? $(0: $whole)? } => {
                        true $($(&& <form!($($part_form)?) as Form<$part_type>>::renumber($part, numbers))*)?
                            $(&& <Plain as Form<$whole_type>>::renumber($whole, numbers))?
                    })*
                }
            }

            fn examples() -> Vec<EventKind> {
                let mut kinds = Vec::new();
                $({
                    let most = [1 $($(, <form!($($field_form)?) as Form<$field_type>>::examples().len())*)?];
                    kinds.extend((0..most.into_iter().max().unwrap_or(1)).map(|_turn| EventKind::$event {$($(
                        $field: turn(<form!($($field_form)?) as Form<$field_type>>::examples(), _turn),
                    )*)?}));
                })*
                $({
                    let most = [
                        1 $($(, <form!($($part_form)?) as Form<$part_type>>::examples().len())*)?
                        $(, <Plain as Form<$whole_type>>::examples().len())?
                    ];
                    kinds.extend((0..most.into_iter().max().unwrap_or(1)).map(|_turn| EventKind::$extended {
                        $($($part: turn(<form!($($part_form)?) as Form<$part_type>>::examples(), _turn),)*)?
                        $(0: turn(<Plain as Form<$whole_type>>::examples(), _turn),)?
                    }));
                })*
                kinds
            }
        }

        /// Every kind of record, as the document of the format has it.
        pub(crate) const RECORD_FORMS: &[RecordForm] = &[
            $(RecordForm {
                class: RecordClass::Definition,
                number: $definition_tag,
                flag: None,
                name: stringify!($definition),
                lines: &[$($definition_line),*],
                fields: &[$(FieldForm {
                    name: stringify!($member),
                    text: <form!($($member_form)?) as Form<$member_type>>::TEXT,
                    lines: &[$($member_line),*],
                }),*],
            },)*
            $(RecordForm {
                class: RecordClass::Event,
                number: $event_tag,
                flag: first_of(&[$($event_flag)?]),
                name: stringify!($event),
                lines: &[$($event_line),*],
                fields: &[$($(FieldForm {
                    name: stringify!($field),
                    text: <form!($($field_form)?) as Form<$field_type>>::TEXT,
                    lines: &[$($field_line),*],
                }),*)?],
            },)*
            $(RecordForm {
                class: RecordClass::Extended,
                number: $extended_tag,
                flag: None,
                name: stringify!($extended),
                lines: &[$($extended_line),*],
                fields: &[
                    $($(FieldForm {
                        name: stringify!($part),
                        text: <form!($($part_form)?) as Form<$part_type>>::TEXT,
                        lines: &[$($part_line),*],
                    },)*)?
                    $(FieldForm { name: stringify!($whole), text: <Plain as Form<$whole_type>>::TEXT, lines: &[] },)?
                ],
            },)*
        ];
    };
}

pub(crate) use {flags, form, records};
