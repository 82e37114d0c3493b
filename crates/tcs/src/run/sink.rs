//! Where the bytes of a message go that is received.

/// Memory for a message that comes in pieces.
pub(super) trait Sink {
    /// Room for the next bytes of the message. `None` if the memory has not so much: then they are
    /// only counted.
    fn room(&mut self, bytes: usize) -> Option<&mut [u8]>;

    /// The memory for a whole message of which nothing has come, if its length is fixed.
    fn whole(&mut self) -> Option<&mut [u8]> {
        None
    }

    /// Stores a piece.
    #[inline]
    fn put(&mut self, piece: &[u8]) {
        if let Some(room) = self.room(piece.len()) {
            room.copy_from_slice(piece);
        }
    }
}

/// Memory of a fixed length.
pub(super) struct Fixed<'m> {
    memory: &'m mut [u8],
    /// The bytes that have come.
    pub(super) came: usize,
}

impl<'m> Fixed<'m> {
    pub(super) fn new(memory: &'m mut [u8]) -> Self {
        Self { memory, came: 0 }
    }
}

impl Sink for Fixed<'_> {
    #[inline]
    fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let from = self.came;
        self.came += bytes;
        self.memory.get_mut(from..self.came)
    }

    fn whole(&mut self) -> Option<&mut [u8]> {
        if self.came == 0 { Some(self.memory) } else { None }
    }
}

/// Memory that grows.
impl Sink for Vec<u8> {
    fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let from = self.len();
        self.resize(from + bytes, 0);
        self.get_mut(from..)
    }
}
