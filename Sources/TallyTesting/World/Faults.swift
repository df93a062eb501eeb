/// The kinds of fault that may occur in a random run.
public struct Faults: OptionSet, Sendable {
  /// One bit for each kind of fault.
  public let rawValue: UInt32
  /// Creates the set of faults with these bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Connections break at any point, replicas are cut off from one another in one or both directions, and some
  /// directions are slow.
  public static let network = Faults(rawValue: 1 << 0)
  /// Deltas that travel as files are lost, duplicated, delayed and reordered.
  public static let files = Faults(rawValue: 1 << 1)
  /// A mailbox shows files late, and to each device in a different order.
  public static let mailbox = Faults(rawValue: 1 << 2)
  /// Clocks jump to 1970, to 2099 and backwards.
  public static let clocks = Faults(rawValue: 1 << 3)
  /// The power fails, and data that was not yet on the disk is lost.
  public static let power = Faults(rawValue: 1 << 4)
  /// Devices are restored from backups, or begin as copies of others.
  public static let copies = Faults(rawValue: 1 << 5)
  /// Devices that join in the middle of a history.
  public static let newcomers = Faults(rawValue: 1 << 6)
  /// Some devices are lost forever.
  public static let losses = Faults(rawValue: 1 << 7)
  /// Some devices begin with an older version of the app, whose schema lacks parts of the newer one.
  public static let versions = Faults(rawValue: 1 << 8)

  /// Devices seed default data that is generated for the schema, in several versions, and people edit and delete it.
  public static let seeds = Faults(rawValue: 1 << 9)

  /// In half of the runs, any device may remove deleted records for good, by a purge or a compaction.
  public static let purges = Faults(rawValue: 1 << 10)

  /// The set of all kinds of fault.
  public static let all = Faults(rawValue: (1 << 11) - 1)
}
