/// The faults of a random run.
public struct Faults: OptionSet, Sendable {
  /// One bit for each kind of fault.
  public let rawValue: UInt32
  /// The faults with these bits.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Connections break anywhere, replicas are cut off from one another, both ways or one, and some ways are slow.
  public static let network = Faults(rawValue: 1 << 0)
  /// Deltas that travel as files are lost, doubled, late and out of order.
  public static let files = Faults(rawValue: 1 << 1)
  /// A mailbox shows files late, and in another order to each device.
  public static let mailbox = Faults(rawValue: 1 << 2)
  /// Clocks jump to 1970, to 2099 and backwards.
  public static let clocks = Faults(rawValue: 1 << 3)
  /// The power fails, and takes what was not yet on the disk.
  public static let power = Faults(rawValue: 1 << 4)
  /// Devices are restored from backups, and begin as copies of others.
  public static let copies = Faults(rawValue: 1 << 5)
  /// Devices that join in the middle of a history.
  public static let newcomers = Faults(rawValue: 1 << 6)
  /// Some devices are lost forever.
  public static let losses = Faults(rawValue: 1 << 7)
  /// Some devices have an older version of the app at first, which lacks what a newer one has.
  public static let versions = Faults(rawValue: 1 << 8)

  /// Devices bring default data made up for the schema, in versions, and people edit and delete it.
  public static let seeds = Faults(rawValue: 1 << 9)

  /// Deleted records are removed for good in half of the runs: purged, or emptied by a compaction, by any device.
  public static let purges = Faults(rawValue: 1 << 10)

  /// Every fault that there is.
  public static let all = Faults(rawValue: (1 << 11) - 1)
}
