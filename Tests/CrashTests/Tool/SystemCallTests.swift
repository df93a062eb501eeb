import Foundation
import Tally
import TestEffort
import Testing

/// The tool on a system that fails: at each call that changes a file, in turn.
@Suite(.enabled(if: FaultShim.library != nil, "needs Linux and a C compiler")) struct SystemCallTests {
  private static let template = Result { try ToolOperation.workshop() }.map(Template.init)

  /// Read by all tests, written by none.
  private struct Template: @unchecked Sendable {
    let workshop: Workshop
  }

  /// A call fails, or the tool is killed there. It says so in one line with a code that the manual knows; nothing
  /// acknowledged is lost and nothing is half done; the stores are sound, and a second run completes what the first one
  /// began.
  @Test(arguments: ToolOperation.chosen, FaultShim.How.allCases)
  func faultAtEveryCall(_ operation: ToolOperation, _ how: FaultShim.How) throws {
    let template = try Self.template.get().workshop
    let before = try views(operation, in: try Workshop(copyOf: template), "before")
    let model = try Workshop(copyOf: template)
    let log = try calls(operation, in: model)
    let after = try views(operation, in: model, "after")
    #expect(log.count > 5)
    for call in Effort.sample(1...log.count, 2) {
      let place = "\(operation.testDescription), \(how.rawValue) at call \(log[call - 1])"
      let workshop = try Workshop(copyOf: template)
      let outcome = try workshop.tally(
        operation.arguments, environment: FaultShim.environment(workshop.folder, at: call, how))
      expectTyped(outcome, how, place)
      // A tool that goes on after the fault takes away what it had begun.
      if !how.isKill, !log[call - 1].contains("unlink") {
        #expect(try !workshop.files().contains { $0.hasSuffix(".tmp") }, "\(place)")
      }
      let views = try views(operation, in: workshop, place)
      let isDone = outcome.status == 0 || !outcome.acknowledgements.isEmpty
      for (view, (old, new)) in zip(views, zip(before, after)) where isDone || operation.isAtomic {
        #expect(view == new || view == old && !isDone, "\(place)")
      }
      let again = try workshop.tally(operation.arguments)
      #expect(again.status == 0 || operation.againMayRefuse.contains(again.status), "\(place): \(again.errors)")
      #expect(try self.views(operation, in: workshop, place) == after, "\(place)")
      for store in operation.stores { #expect(try workshop.files().contains(store), "\(place)") }
    }
    if Effort.factor > 1 { print("\(operation.testDescription), \(how.rawValue): \(log.count) calls struck") }
  }

  /// The calls of an undisturbed run, as "7 pwrite /a-wal".
  private func calls(_ operation: ToolOperation, in workshop: Workshop) throws -> [String] {
    let log = workshop.folder + ".log"
    let outcome = try workshop.tally(
      operation.arguments, environment: FaultShim.environment(workshop.folder, log: log))
    #expect(outcome.status == 0, "\(outcome.errors)")
    return String(decoding: try Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self).split(separator: "\n")
      .map(String.init)
  }

  private func expectTyped(_ outcome: Outcome, _ how: FaultShim.How, _ place: String) {
    if how.isKill { return #expect(outcome.status == -SIGKILL || outcome.status == 0, "\(place): \(outcome.status)") }
    #expect([0, 73, 74].contains(outcome.status), "\(place): \(outcome.status) \(outcome.errors)")
    guard outcome.status != 0 else { return }
    #expect(outcome.errors.hasPrefix("tally: ") && outcome.errors.hasSuffix("\n"), "\(place): \(outcome.errors)")
    #expect(outcome.errors.utf8.count { $0 == 0x0A } == 1, "\(place): \(outcome.errors)")
  }

  /// What a person sees in each store that the operation changes; a store that is not there looks empty.
  private func views(_ operation: ToolOperation, in workshop: Workshop, _ place: String) throws -> [String] {
    try operation.stores.map { store in
      guard try !workshop.bytes(orEmpty: store).isEmpty else { return "" }
      return try workshop.soundView(store, place)
    }
  }
}

extension Workshop {
  /// The bytes of a file; none if it is not there.
  fileprivate func bytes(orEmpty name: String) throws -> [UInt8] {
    FileManager.default.fileExists(atPath: url(name).path) ? try bytes(name) : []
  }
}
