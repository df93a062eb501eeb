import TallyCRDT
import TallyStore

extension Schema {
  /// An earlier version of this schema: without some fields, and without some types that nothing refers to.
  func older(_ random: inout SplitMix64) -> Schema? {
    var result = self
    for index in result.entities.indices {
      result.entities[index].fields.removeAll { _ in random.chance(25) }
      let names = Set(result.entities[index].fields.map(\.name))
      result.entities[index].unique.removeAll { !names.isSuperset(of: $0.fields) }
      result.entities[index].references.removeAll { _ in random.chance(25) }
      result.entities[index].relationships.removeAll { _ in random.chance(25) }
    }
    let used = Set(result.entities.flatMap { $0.references.map(\.to) + $0.relationships.map(\.to) })
    if random.chance(30), let unused = result.entities.lastIndex(where: { !used.contains($0.type) }),
      result.entities.count > 1
    {
      result.entities.remove(at: unused)
    }
    return result == self ? nil : result
  }

  /// Default data that fits this schema; each version says something else of the same records, and some withdraw one.
  func sampleSeeds(version: Int) -> SeedSet {
    var records: [SeedRecord] = []
    var retired: [SeedKey] = []
    for entity in entities {
      for key in ["first", "second"] {
        let name = "\(entity.type) \(key)"
        if version % 3 == 0, key == "second" {
          retired.append(SeedKey(name, type: entity.type))
          continue
        }
        var fields: [String: Value] = [:]
        for field in entity.fields {
          switch field.kind {
          case .text: fields[field.name] = .text("\(key) \(version)")
          case .integer: fields[field.name] = .integer(Int64(version))
          default: break
          }
        }
        records.append(SeedRecord(name, type: entity.type, fields))
      }
    }
    return SeedSet("samples", version: version, records: records, retired: retired)
  }
}
