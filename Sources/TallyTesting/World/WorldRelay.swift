import TallySync

/// A relay as a world has it: a log that all devices use, and what tells them that there is something new in it.
package protocol WorldRelay: Sendable {
  /// An event between the relay and its devices.
  typealias Event = (text: String, device: Int?)

  /// The relay as a device reaches it.
  func mailbox(_ device: Int) -> any Mailbox
  /// A device has made a pass, and from now on waits for what comes after a cursor.
  func wait(_ device: Int, after cursor: MailboxCursor?) throws
  /// The app of a device has ended: what has come to it is forgotten.
  func forget(_ device: Int)
  /// Lets something happen: a push arrives, late, again or never; the relay is backed up or restored.
  /// - Returns: what it was, and the device that should look, if one should.
  func happen(_ random: inout SplitMix64) throws -> Event
  /// Ends all faults, and tells all that wait everything there is to tell.
  /// - Returns: the devices that should look.
  func tellAll() throws -> [Int]
}
