import TallyCRDT
import TallySync
import TallyWire

/// Changes what passes between the devices of a world, to show that the world notices. A world without it passes
/// everything on as it is.
package protocol Tampering: Sendable {
  /// Returns the listing that a device sees of the mailbox.
  func listing(_ items: [MailboxItem], by device: Int) -> [MailboxItem]
  /// A file was put into the mailbox.
  func notePut(_ name: String)
  /// The vector that a sender takes a receiver to have.
  func wanted(_ asked: StateVector, from sender: Int, to receiver: Int) -> StateVector
  /// A transfer up to `target` begins.
  func noteSent(_ target: StateVector, from sender: Int, to receiver: Int)
  /// A live change as it is applied by a device with the vector `own`.
  func live(_ header: DeltaHeader, own: () throws -> StateVector) throws -> DeltaHeader
}
