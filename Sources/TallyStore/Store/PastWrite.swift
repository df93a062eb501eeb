import GRDB
import TallyCRDT

/// A part of a write of the app's that counts as written at another time than the clock's, as if the device's clock had
/// shown that. It is as late as it must be over what it overwrites.
package enum PastWrite {
  /// Runs statements as part of a write, and captures them, and what triggers write with them, with a dot of their own;
  /// with nil, at the clock's time. What was done before is captured first. An error of that ends the whole write.
  /// - Throws: errors of the body; `StoreError.notInWrite`, and what a write throws at its end.
  package static func run<T>(at time: HybridTime?, in db: Database, _ body: () throws -> T) throws -> T {
    let session = try WritingSessions.listening(db)
    try session.interlude { _ in }
    let value = try body()
    session.applying.time = time
    defer { session.applying.time = nil }
    try session.interlude { _ in }
    return value
  }
}
