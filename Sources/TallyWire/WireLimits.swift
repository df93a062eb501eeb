import TallyCRDT

/// The limits that decoders check before they allocate, and that stores check before they accept a local write.
public enum WireLimits {
  /// The most bytes of one text or blob: 16 MiB. Larger things belong in files.
  public static let valueBytes = 16 << 20
  /// The most bytes that the values of one record may sum to when it is written: 48 MiB. Concurrent writes may join to
  /// more.
  public static let recordBytes = 48 << 20
  /// The most bytes of one block before compression: 64 MiB.
  public static let blockBytes = 64 << 20
  /// The most bytes that all blocks of one delta together may have before compression, unless a reader is told
  /// otherwise: 4 GiB.
  ///
  /// Compressed, a block of 64 MiB can be two kilobytes, so without it a delta of a few megabytes could fill any disk.
  /// It leaves room for the whole content of large stores: a million records of some fields are 100 to 300 MB, and what
  /// is much larger than the limit, because it is made of pictures or recordings, belongs in files. The number does not
  /// fit into `Int` everywhere.
  public static let deltaBytes: UInt64 = 4 << 30
  /// Writers close a block when it has about this many bytes: 1 MiB.
  public static let targetBlockBytes = 1 << 20
  /// Writers close a block when it has this many items.
  public static let targetBlockItems = 4096
  /// The most records and links that a block may have.
  public static let blockItems = 1 << 14
  /// The most cells of records that a block may have, those of seeds' layers among them.
  public static let blockCells = 1 << 20
  /// The most replicas in a vector.
  public static let replicas = 1 << 16
  /// The most fields of one entity.
  public static let fields = 1024
  /// The most bytes of the name of a type, field or relationship.
  public static let identifierBytes = AnyRecordName.maximumTypeLength
}
