import TallyCRDT
import TallyFaults
import TallyTesting

/// A replica in memory, made of nothing but the product's pure pieces: what a store must do, without a store.
package struct ModelReplica {
  package struct Edge: Hashable, Comparable {
    package var source, target: AnyRecordName

    package static func < (lhs: Edge, rhs: Edge) -> Bool { (lhs.source, lhs.target) < (rhs.source, rhs.target) }
  }

  package var id: ReplicaID
  package let planted: PlantedFault
  /// The fields that this replica's app knows.
  package var fields = ModelField.allCases
  /// Whether somebody knew more of this replica than it does: it is an older copy of itself, and must take another id.
  package var isOlderCopy = false
  package var vector = StateVector()
  package private(set) var records: [AnyRecordName: RecordState] = [:]
  package private(set) var links: [Edge: ORSetElement] = [:]
  /// Kept up to date with each change, never summed anew.
  package private(set) var fingerprint = Fingerprint()
  /// The chunks that have come of each transfer that is not complete.
  package var inbox: [Int: [Int: ModelDelta]] = [:]

  package init(id: ReplicaID, planted: PlantedFault = []) {
    self.id = id
    self.planted = planted
  }

  /// Whether both hold the same cells, stamps and dots included. States are canonical: then they are equal in their bytes, too.
  package func holdsTheSame(as other: ModelReplica) -> Bool {
    vector == other.vector && records == other.records && links == other.links && fingerprint == other.fingerprint
  }

  /// The state of a record; empty if nothing is known of it.
  package subscript(name: AnyRecordName) -> RecordState { records[name] ?? RecordState() }

  package mutating func merge(_ name: AnyRecordName, _ state: RecordState) {
    let planted = planted
    change(name) { replica in
      var lost: [LostWrite] = []
      replica.records[name, default: RecordState()].merge(state, lost: &lost, planted: planted)
    }
  }

  package mutating func merge(_ link: Edge, _ element: ORSetElement) {
    let planted = planted
    change(link.source) { replica in
      replica.links[link, default: ORSetElement()].merge(element, planted: planted)
    }
  }

  /// Puts a value into a register under the stamp that is there: what a forger or a damaged disk does.
  package mutating func forge(_ name: AnyRecordName, _ field: ModelField, _ value: String) {
    change(name) { replica in
      guard let index = replica[name].fields.firstIndex(where: { $0.field == field.id }) else { return }
      replica.records[name]?.fields[index].value = .text(value)
    }
  }

  /// Replaces an element by one that was changed here.
  package mutating func set(_ link: Edge, _ element: ORSetElement) {
    change(link.source) { $0.links[link] = element }
  }

  private mutating func change(_ name: AnyRecordName, _ body: (inout ModelReplica) -> Void) {
    let before = contribution(of: name)
    let members = planted.contains(.fingerprintForgetsRemovals) ? liveTags(of: name).count : 0
    body(&self)
    if planted.contains(.fingerprintForgetsRemovals), liveTags(of: name).count < members { return }
    fingerprint -= before
    fingerprint += contribution(of: name)
  }
}

// MARK: - Fingerprint

extension ModelReplica {
  /// What a record and its relationships add to the fingerprint.
  private func contribution(of name: AnyRecordName) -> Fingerprint {
    let state = self[name]
    var sum = state.fingerprint(name: SipHash.hash(name.text)) { id in
      SipHash.hash(ModelField.allCases.first { $0.id == id }?.rawValue ?? "")
    }
    for (link, element) in links where link.source == name {
      sum += element.fingerprint(
        link: SipHash.hash("\(Model.relationship) \(name)"), target: SipHash.hash(link.target.text))
    }
    return sum
  }

  /// The fingerprint summed anew over everything.
  package func recomputedFingerprint() -> Fingerprint {
    Set(records.keys).union(links.keys.map(\.source)).reduce(into: Fingerprint()) { $0 += contribution(of: $1) }
  }
}

// MARK: - View

extension ModelReplica: VisibilitySource {
  package func facts(of name: AnyRecordName) -> RecordFacts? {
    guard let state = records[name] else { return nil }
    let deleteWins = planted.contains(.editsDoNotRevive)
    return RecordFacts(state: state, deleteWins: deleteWins, owners: owners(of: state))
  }

  package func liveTags(of name: AnyRecordName) -> [Dot] {
    links.filter { $0.key.source == name }.flatMap(\.value.liveDots)
  }

  package func owned(by owner: AnyRecordName) -> [AnyRecordName] {
    records.filter { owners(of: $0.value).contains { $0.target == owner } }.map(\.key)
  }

  private func owners(of state: RecordState) -> [RecordFacts.Owner] {
    fields.filter(\.isOwner).compactMap { field in
      guard let cell = state[field.id], case .text(let target) = cell.value else { return nil }
      return RecordFacts.Owner(field: field.rawValue, target: Model.name(target), stamp: cell.stamp)
    }
  }

  package func isVisible(_ name: AnyRecordName) throws -> Bool { Visibility(self).isVisible(name) }

  /// The fields of one row; nil if the app does not see the record.
  func row(_ name: AnyRecordName) throws -> [ModelField: String]? {
    let visibility = Visibility(self)
    return records[name] != nil && visibility.isVisible(name) ? fields(of: name, visibility) : nil
  }

  /// The rows that an app sees.
  package func view() throws -> ModelView {
    let visibility = Visibility(self)
    var view = ModelView()
    for name in records.keys where visibility.isVisible(name) {
      view[name.text] = ModelRow(fields: fields(of: name, visibility))
    }
    for (link, element) in links where element.isMember && view[link.target.text] != nil {
      view[link.source.text]?.links.insert(Link(link.source.text, Model.relationship, link.target.text))
    }
    return view
  }

  private func fields(of name: AnyRecordName, _ visibility: Visibility<ModelReplica>) -> [ModelField: String] {
    let owners = Set(visibility.effectiveOwners(of: name).map(\.field))
    var shown: [ModelField: String] = [:]
    for field in fields {
      guard case .text(let text) = self[name][field.id]?.value else { continue }
      if field.isOwner, !owners.contains(field.rawValue) { continue }
      if field.isReference, !visibility.isVisible(Model.name(text)) { continue }
      shown[field] = text
    }
    return shown
  }
}
