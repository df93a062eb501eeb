import TallyCRDT

/// The limits that decoders check before they allocate, and that stores check before they accept a local write.
public enum WireLimits {
  /// The most bytes of one text or blob: 8 MiB. Larger things belong in files.
  public static let valueBytes = 8 << 20
  /// The most bytes that the values of one record may sum to when it is written: 48 MiB. Concurrent writes may join to
  /// more.
  public static let recordBytes = 48 << 20
  /// The most bytes that one version of a seed set may give one record: 8 MiB, because they travel in one block.
  public static let seedRecordBytes = 8 << 20
  /// The most bytes of one block before compression: 10 MiB. Writers close a block at 1 MiB, so the largest is one that
  /// ends with a value of `valueBytes`. A reader has a block in memory up to four times.
  public static let blockBytes = 10 << 20
  /// The most bytes that all blocks of one delta together may have before compression, unless a reader is told
  /// otherwise: 4 GiB.
  ///
  /// Compressed, a block of 10 MiB can be half a kilobyte, so without it a small delta could fill any disk. It leaves
  /// room for the whole content of large stores: a million records of some fields are 100 to 300 MB, and what is much
  /// larger than the limit, because it is made of pictures or recordings, belongs in files. The number does not fit
  /// into `Int` everywhere.
  public static let deltaBytes: UInt64 = 4 << 30
  /// Writers close a block when it has about this many bytes: 1 MiB.
  public static let targetBlockBytes = 1 << 20
  /// Writers close a block when it has this many items.
  public static let targetBlockItems = 4096
  /// The most records and links that a block may have.
  public static let blockItems = 1 << 14
  /// The most cells that a block may have: 131,072. A few bytes on the wire become a hundred in memory, so everything
  /// that a block can have many of counts: a field's value (those of seeds' layers among them), a layer, a delete and
  /// an entry of a vector as one cell each, a link's tag as two. As many stamps may stand in its dictionary.
  public static let blockCells = 1 << 17
  /// The most names of fields that all groups of a block may have together: 16,384.
  public static let blockFieldNames = 1 << 14
  /// The most replicas in a vector.
  public static let replicas = 1 << 16
  /// The most fields of one entity.
  public static let fields = 1024
  /// The most bytes of the name of a type, field or relationship.
  public static let identifierBytes = AnyRecordName.maximumTypeLength
}
