/// The bytes of an entry from a mailbox that knows more of the entry than its name. After an error, the next call of
/// `next()` goes on where they broke off, with the same content or with an error, and is preferred to a new `get`: that
/// could give bytes of an entry that was put again meanwhile.
package protocol ResumablePieces: AsyncIteratorProtocol<[UInt8], any Error> {}
