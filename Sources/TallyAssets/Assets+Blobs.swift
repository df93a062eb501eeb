import TallyCRDT
import TallySchema
import TallyStore

/// The result of moving blobs out of the database.
public struct BlobReport: Sendable, Hashable {
  /// The number of records whose blob became a file, and of these blobs' bytes.
  public var moved = 0, byteCount = 0
  /// The number of records whose blob went because their asset has the same content, or was written later.
  public var cleared = 0
  /// The records that a constraint or a trigger of the app's refuses to change. Their blobs stay as they are.
  public var refused: [AnyRecordName] = []

  package init() {}
}

extension Assets {
  /// Moves what a blob field holds into an asset field of the same records: pictures that an older version of the app
  /// has put into the database become files.
  ///
  /// ```swift
  /// let report = try store.assets.moveBlobs(of: "Person", from: "image", to: "photo")
  /// print(report.moved, report.byteCount)
  /// ```
  ///
  /// Call it at each launch, before the first sync: older apps of other devices go on writing blobs. The later of two
  /// writes wins. A blob that was written after the asset takes its place, and any other one goes. A move counts as
  /// written one millisecond after the blob, so it hides nothing that an older app has written since, also if that
  /// arrives later. Otherwise it is an edit like any other: a deleted record whose delete had not seen it comes back.
  ///
  /// Files are added before the rows are written, and rows in transactions of 64. So at any time a picture is in the
  /// blob or in the asset. The move may be interrupted, run again, and run on several devices and beside other writers;
  /// a row that is written to meanwhile is left to the next run. Without anything to move it writes nothing. Hidden and
  /// deleted records keep their blobs. What an older app removes after the move is not removed here.
  ///
  /// The file shrinks with the next `store.compact(vacuum: .full)`. What the conflict journal has of earlier blobs
  /// stays there as long as its entries do; a blob that loses to the asset is not in it. In the history, rows whose
  /// blobs were written at different times have transactions of their own. Where triggers of the app's run with an
  /// update of the rows, a move counts as written now, as what they write does. Default data becomes the user's by a
  /// move.
  ///
  /// Cost: reads the rows that have a blob, and writes each blob to a file and each row once. Memory for one blob.
  /// - Parameters:
  ///   - entity: the type of the records.
  ///   - blob: the name of a field of the kind `blob`.
  ///   - asset: the name of a field of the kind `asset`.
  ///   - type: the extension of all files; nil to recognize png, jpg, gif, webp, heic and pdf by the first bytes, with
  ///     bin for everything else.
  ///   - keepsOldApps: whether the blobs stay, so that older apps go on showing them. A row is then done if its asset
  ///     has the blob's content, or was written later.
  /// - Returns: how much was moved, and what was refused. Zeros if there was nothing to do.
  /// - Throws: `AssetError` of code `inMemory`, `invalidType`, `unwritable`; `StoreError` of code `unknownType`,
  ///   `unknownField`, `typeMismatch` for a field of another kind, `readOnly`, and what a write throws;
  ///   `CancellationError` between two transactions if the task is cancelled. What was moved before stays moved.
  @discardableResult
  public func moveBlobs(
    of entity: String, from blob: String, to asset: String, type: String? = nil, keepsOldApps: Bool = false
  ) throws -> BlobReport {
    finishRemovals()
    let move = try BlobMove(self, of: entity, from: blob, to: asset, type: type, keepsOldApps: keepsOldApps)
    var (report, last) = (BlobReport(), "")
    while true {
      try Task.checkCancellation()
      guard let slice = try move.slice(after: last) else { return report }
      try move.write(slice, &report)
      last = slice.end
    }
  }
}
