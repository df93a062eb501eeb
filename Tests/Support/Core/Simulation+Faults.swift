import TallyCRDT
import TallyFaults
import TallyTesting

/// What happens to devices.
extension Simulation {
  mutating func meetFate(_ step: History.Step) {
    switch step {
    case .clock(let index, let time): devices[index].clock = time
    case .flush(let index): devices[index].disk = devices[index].file
    case .crash(let index):
      let fields = devices[index].file.replica.fields
      devices[index].file = devices[index].disk
      devices[index].file.replica.fields = fields
      devices[index].file.replica.inbox = [:]
    // Who copies a file has it on the disk before.
    case .backUp(let index):
      devices[index].disk = devices[index].file
      devices[index].backup = devices[index].file
    case .restore(let index, let isNoticed):
      guard let backup = devices[index].backup else { return }
      replace(index, with: backup, isNoticed)
    case .clone(let source, let copy, let isNoticed):
      guard source != copy, !devices[source].isLost else { return }
      devices[source].disk = devices[source].file
      replace(copy, with: devices[source].file, isNoticed)
    case .lose(let index):
      // Somebody stays.
      if devices.count(where: { !$0.isLost }) > 2 { devices[index].isLost = true }
    case .upgrade(let index):
      devices[index].file.replica.fields = ModelField.allCases
    default: break
    }
  }

  private mutating func replace(_ index: Int, with file: File, _ isNoticed: Bool) {
    guard !devices[index].isLost else { return }
    let fields = devices[index].file.replica.fields
    devices[index].file = file
    devices[index].file.replica.fields = fields
    devices[index].file.replica.inbox = [:]
    // An opening that finds another token beside the file takes another id before anything is written.
    if isNoticed, !planted.contains(.restoredIDReused) { renew(index) }
    devices[index].disk = devices[index].file
  }
}
