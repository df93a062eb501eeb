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

  /// The room that a device has for the records of a space. Records of devices that are out have a room of their own,
  /// so that a flood of them takes none of the members' room.
  struct SpaceRoom: Sendable {
    /// The records of devices that are not out. Removals and closes may go beyond: they end a flood.
    var members = SpaceLimits.records
    /// The records of devices that are out and that no member's record names.
    var out = 1_024
    /// All records together.
    var all = 3 * SpaceLimits.records
    /// The records that wait for those that they name, and their bytes.
    var (early, earlyBytes) = (SpaceLimits.records, 16 << 20)
  }
#endif
