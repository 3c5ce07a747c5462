//! Whether a folder of objects has an object, in a file of its own or in a pack.

use std::cell::OnceCell;
use std::path::Path;

use super::loose_object;
use super::object_id::{ObjectFormat, ObjectId};
use super::pack_index::PackIndexes;

/// The objects of one folder. Packs are looked for once, when the first is needed.
pub(crate) struct ObjectLookup<'a> {
    objects: &'a Path,
    format: ObjectFormat,
    packs: OnceCell<PackIndexes>,
}

impl<'a> ObjectLookup<'a> {
    pub(crate) fn new(objects: &'a Path, format: ObjectFormat) -> Self {
        Self {
            objects,
            format,
            packs: OnceCell::new(),
        }
    }

    /// True where it has the object; false also where its packs cannot be read.
    pub(crate) fn has(&self, id: &ObjectId) -> bool {
        self.is_loose(id) || self.is_packed(id)
    }

    /// True where the object has a file of its own.
    pub(crate) fn is_loose(&self, id: &ObjectId) -> bool {
        loose_object::path(self.objects, id).is_file()
    }

    /// True where a pack has the object.
    pub(crate) fn is_packed(&self, id: &ObjectId) -> bool {
        let open = || PackIndexes::open(self.objects, self.format);
        self.packs.get_or_init(open).hold(id)
    }
}
