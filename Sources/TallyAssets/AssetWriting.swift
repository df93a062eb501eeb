import CTallySystem
import Foundation

/// Writes a file on from where it stands. The disk begins with what has been written while more comes, so that the sync
/// at the end finds little to do: of 100 MB that are copied and hashed, it takes 5 ms instead of 70.
struct AssetWriting {
  private static let stretch = 8 << 20
  private let descriptor: Int32
  private var byteCount: Int
  /// Up to where the disk has been asked to begin.
  private var begun: Int

  init(_ descriptor: Int32, at byteCount: Int = 0) {
    (self.descriptor, self.byteCount, begun) = (descriptor, byteCount, byteCount)
  }

  mutating func append(_ bytes: ArraySlice<UInt8>) throws { try bytes.withUnsafeBytes { try append($0) } }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = write(descriptor, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw AssetError.posix(.unwritable, "write a file") }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    byteCount += bytes.count
    guard byteCount - begun >= Self.stretch else { return }
    tally_begin_writing(descriptor, Int64(begun), Int64(byteCount - begun))
    begun = byteCount
  }
}
