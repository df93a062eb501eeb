import Foundation
import TallyStore

/// The files that a store keeps beside its database, on a simulated disk.
struct SimulatedFiles: StoreFiles {
  let disk: SimulatedDisk

  func kind(of path: String) -> StoreFileKind {
    guard let name = DiskRegistry.name(path) else { return .nothing }
    return disk.state.withLock { $0.image.names[name] == nil ? .nothing : .file }
  }

  func head(_ count: Int, of path: String) -> [UInt8]? {
    guard let name = DiskRegistry.name(path) else { return nil }
    return disk.state.withLock { state in
      guard let number = state.image.names[name], let file = state.image.files[number] else { return nil }
      return Array(file.bytes.prefix(count))
    }
  }

  /// The disk gives no number twice, and nothing is written over a token.
  func token(at path: String) -> (text: String, fileNumber: UInt64, writing: String)? {
    guard let name = DiskRegistry.name(path) else { return nil }
    return disk.state.withLock { state in
      guard let number = state.image.names[name], let file = state.image.files[number] else { return nil }
      return String(validating: file.bytes, as: UTF8.self).map { ($0, number, "\(number)") }
    }
  }

  /// As the system's files do it: make one, write it, rename it, without a sync.
  func writeToken(at path: String, _ text: (UInt64) -> String) throws {
    guard let name = DiskRegistry.name(path) else { throw POSIXError(.ENOENT) }
    let temporary = name + "-new"
    try disk.state.withLock { state in
      var number = state.image.names[temporary] ?? 0
      try state.perform(.create, temporary) { number = $0.image.create(temporary) }
      let bytes = Array(text(number).utf8)
      try state.perform(.write, temporary) { state in
        guard bytes.count <= state.room else { throw POSIXError(.ENOSPC) }
        state.image.change(number) { file in bytes.withUnsafeBytes { file.write($0, at: 0) } }
      }
      try state.perform(.rename, name) { $0.image.rename(temporary, to: name) }
    }
  }
}

extension DiskState {
  fileprivate mutating func perform(
    _ kind: DiskCall.Kind, _ name: String, _ body: (inout DiskState) throws -> Void
  ) throws {
    switch faults.judge(DiskCall(kind: kind, file: name)) {
    case .done: try body(&self)
    case .failed(.noSpace): throw POSIXError(.ENOSPC)
    case .failed, .off: throw POSIXError(.EIO)
    case .lastOne:
      try body(&self)
      throw POSIXError(.EIO)
    }
  }
}
