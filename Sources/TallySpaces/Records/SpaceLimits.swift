#if Spaces
  /// The limits of a space. Decoders check them before they allocate anything.
  enum SpaceLimits {
    /// The most records of a space. Beyond that a new space is made of the store.
    static let records = 4_096
    /// The most records that one record may name.
    static let parents = 1_024
    /// The most bytes of a record that holds no keys, and of one that does.
    static let (recordBytes, keyRecordBytes) = (64 << 10, 1 << 20)
    /// The most keys, or receivers of one, in a record.
    static let keys = 4_096
    /// The most files that a removal keeps.
    static let kept = 1_000
    /// The longest name of a device or a space, in bytes.
    static let nameBytes = 64
  }
#endif
