//! How serde walks through a value: lists, mappings and structs, each with its place.

use std::collections::BTreeMap;

use serde::{
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor, value::StrDeserializer},
    forward_to_deserialize_any,
};

use super::{GoError, Place, Scalar, Value};
use crate::yaml::{Content, Node};

macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoError> {
            visitor.visit_i64(self.whole()?)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Value<'de> {
    type Error = GoError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoError> {
        match (&self.node.content, self.scalar()) {
            (Content::Mapping { .. }, _) => self.deserialize_map(visitor),
            (Content::Sequence { .. }, _) => self.deserialize_seq(visitor),
            (_, Some(Scalar::Bool(value))) => visitor.visit_bool(value),
            (_, Some(Scalar::Number(number))) => visitor.visit_f64(number),
            (_, Some(Scalar::Text(text))) => visitor.visit_string(text),
            _ => visitor.visit_unit(),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoError> {
        match self.scalar() {
            Some(Scalar::Bool(value)) => visitor.visit_bool(value),
            Some(Scalar::Null) => visitor.visit_bool(false),
            _ => Err(self.wrong("bool")),
        }
    }

    integers! { deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoError> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoError> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoError> {
        if self.is_null() {
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, GoError> {
        self.place.go_type = Some(name);
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoError> {
        if !self.node.is_sequence() && !self.is_null() {
            return Err(self.wrong("[]string"));
        }
        let mut place = self.place;
        place.go_type = None;
        let items = self.node.items().iter();
        visitor.visit_seq(Items { items, place })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, GoError> {
        if !self.node.is_mapping() && !self.is_null() {
            return Err(self.wrong("map[string]string"));
        }
        let mut place = self.place;
        place.go_type = None;
        let mut fields = BTreeMap::new();
        for (key, value) in self.node.fields() {
            let key = key.value().unwrap_or("").to_owned();
            fields.insert(key.clone(), (key, value));
        }
        let names_count = false;
        visitor.visit_map(Fields::new(fields.into_values(), place, names_count))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, GoError> {
        if !self.node.is_mapping() && !self.is_null() {
            return Err(self.wrong(name));
        }
        let mut place = self.place;
        place.go_type = None;
        // Messages name structs without their package.
        place.of = name.rsplit('.').next().unwrap_or(name);
        let mut sorted: BTreeMap<&str, &Node> = BTreeMap::new();
        for (key, value) in self.node.fields() {
            sorted.insert(key.value().unwrap_or(""), value);
        }
        let mut fields: Vec<(String, &Node)> = Vec::new();
        for (key, value) in sorted {
            let exact = names.iter().find(|name| **name == key);
            let folded = || names.iter().find(|name| name.eq_ignore_ascii_case(key));
            let Some(name) = exact.or_else(folded).filter(|_| !value.is_null()) else {
                continue;
            };
            // A later spelling of the same field counts.
            fields.retain(|(known, _)| known != name);
            fields.push(((*name).to_owned(), value));
        }
        let names_count = true;
        visitor.visit_map(Fields::new(fields.into_iter(), place, names_count))
    }

    forward_to_deserialize_any! {
        i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple
        tuple_struct enum identifier ignored_any
    }
}

struct Items<'de> {
    items: std::slice::Iter<'de, Node>,
    place: Place,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = GoError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, GoError> {
        let Some(node) = self.items.next() else {
            return Ok(None);
        };
        let place = self.place.clone();
        seed.deserialize(Value { node, place }).map(Some)
    }
}

struct Fields<'de, I> {
    fields: I,
    value: Option<(String, &'de Node)>,
    place: Place,
    /// Whether names of fields are part of the path: those of structs.
    names_count: bool,
}

impl<'de, I: Iterator<Item = (String, &'de Node)>> Fields<'de, I> {
    fn new(fields: I, place: Place, names_count: bool) -> Self {
        Self {
            fields,
            value: None,
            place,
            names_count,
        }
    }
}

impl<'de, I: Iterator<Item = (String, &'de Node)>> MapAccess<'de> for Fields<'de, I> {
    type Error = GoError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, GoError> {
        let Some((name, value)) = self.fields.next() else {
            return Ok(None);
        };
        let key = seed.deserialize(StrDeserializer::<GoError>::new(&name))?;
        self.value = Some((name, value));
        Ok(Some(key))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, GoError> {
        let Some((name, node)) = self.value.take() else {
            return Err(de::Error::custom("a value before its key"));
        };
        let mut place = self.place.clone();
        if self.names_count {
            if !place.path.is_empty() {
                place.path.push('.');
            }
            place.path.push_str(&name);
        }
        seed.deserialize(Value { node, place })
    }
}
