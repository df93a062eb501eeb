import TallyCRDT
import TallyWire

/// Files whose headers name another file for their vectors, so that they need not list every replica that has ever
/// written (`Docs/WireFormat.md`, section 3.1).
///
/// A header is resolved once; from then on the store remembers what it says in full, whatever becomes of the file that
/// it names. That one has an ordinary header, so nothing is resolved twice. It stays as long as a file that names it is
/// there. If it goes all the same, since it holds what was removed for good, or because a device has not seen the other
/// file yet, newcomers cannot read the other any longer: it counts as missing, and what it held is put again.
extension MailboxPass {
  /// Resolves the headers that name other files, now that all files have been looked at.
  /// - Throws: `CancellationError`.
  mutating func resolveReferences() async throws {
    guard !relative.isEmpty else { return }
    var vectors: [RelativeHeader.Reference: StateVector] = [:]
    for file in files where file.content.reference == nil {
      vectors[file.name.reference] = file.content.header.target
    }
    // A log does not list again what a store has forgotten since newer entries replace it.
    var asked: Set<RelativeHeader.Reference> = []
    let found = relative
    relative = []
    for (item, name, header) in found {
      try Task.checkCancellation()
      if vectors[header.reference] == nil, mailbox.kind == .log, asked.insert(header.reference).inserted {
        vectors[header.reference] = try await target(of: header.reference, zone: name.zone)
      }
      guard let vector = vectors[header.reference], header.fits(vector) else {
        relative.append((item, name, header))
        continue
      }
      do throws(MailboxReader.Fault) {
        let content = EntryContent(
          header: try resolve(header, vector), reference: header.reference, check: name.check,
          byteCount: item.byteCount ?? 0)
        files.append(try self.found(item, name, content))
      } catch let fault {
        note(item.name, fault)
        if fault.reason == .incomplete { doubtful.append((item, name)) }
      }
    }
  }

  /// Reports the files whose headers name one that has not arrived. Where the store has all that the writer had written
  /// by then, it waits for nothing: what the writer had from others is in files of their own.
  mutating func noteUnresolved() {
    for (item, name, _) in relative where name.sequence > own.vector[name.replica] {
      note(item.name, .init(.waitsForOthers, "it builds on a file that has not arrived"))
    }
  }

  private func resolve(_ header: RelativeHeader, _ vector: StateVector) throws(MailboxReader.Fault) -> DeltaHeader {
    do throws(WireError) { return try header.resolved(by: vector) } catch { throw MailboxReader.Fault(error) }
  }

  /// Returns the vector to which an entry of a log leads that this store does not remember; nil if it cannot be read.
  /// - Throws: `CancellationError`.
  private func target(of reference: RelativeHeader.Reference, zone: ZoneID) async throws -> StateVector? {
    guard let name = MailboxFileName(reference, zone: zone) else { return nil }
    do {
      guard case .ordinary(let header) = try await reader.header(of: MailboxItem(name: name.text)) else { return nil }
      return header.target
    } catch is MailboxReader.Fault {
      return nil
    }
  }
}
