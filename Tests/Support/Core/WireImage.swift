import TallyCRDT
import TallyTesting
import TallyWire

/// The canonical bytes of all that a replica holds, as a delta since nothing.
package enum WireImage {
  package static func bytes(of replica: ModelReplica) throws -> [UInt8] {
    var bytes: [UInt8] = []
    let header = DeltaHeader(base: StateVector(), target: replica.vector, fingerprint: replica.fingerprint)
    var writer = try DeltaWriter(header: header) { bytes += $0 }
    try writer.append(block(replica))
    try writer.finish()
    return bytes
  }

  package static func block(_ replica: ModelReplica) -> DeltaBlock {
    let fields = ModelField.allCases.sorted { $0.id < $1.id }.map(\.rawValue)
    let records = Dictionary(grouping: replica.records, by: \.key.type).map { type, items in
      DeltaBlock.Records(
        type: type, fields: fields, items: items.map { DeltaBlock.Record(name: $0.key, state: $0.value) })
    }
    let links = Dictionary(grouping: replica.links, by: \.key.source.type).map { type, items in
      DeltaBlock.Links(
        source: type, relationship: Model.relationship, target: "Item",
        items: items.map { DeltaBlock.Link(source: $0.key.source, target: $0.key.target, element: $0.value) })
    }
    return DeltaBlock(records: records, links: links)
  }

  /// A replica that has received the bytes and nothing else.
  package static func replica(from bytes: [UInt8], id: ReplicaID) throws -> ModelReplica {
    var reader = try DeltaReader(bytes)
    var replica = ModelReplica(id: id)
    while let block = try reader.nextBlock() {
      for group in block.records {
        let ids = group.fields.map { ModelField(rawValue: $0)?.id ?? FieldID(rawValue: .max) }
        for item in group.items {
          var state = item.state
          for index in state.fields.indices {
            state.fields[index].field = ids[Int(state.fields[index].field.rawValue)]
          }
          state.fields.sort { $0.field < $1.field }
          replica.merge(item.name, state)
        }
      }
      for group in block.links {
        for item in group.items {
          replica.merge(ModelReplica.Edge(source: item.source, target: item.target), item.element)
        }
      }
    }
    replica.vector = reader.header.target
    return replica
  }
}
