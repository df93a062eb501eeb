import Foundation
import Testing

/// `ACK <name> <replica>:<sequence>` means that the change is committed, whatever happens next.
@Suite struct AcknowledgementTests {
  let bench: Bench

  init() throws { bench = try Bench("a") }

  @Test func theAcknowledgementNamesTheTransaction() throws {
    let first = try bench.done("put", "a", "SBPerson|~|ann", "name=Ann")
    let replica = try #require(first.split(separator: " ").last).dropLast(3)
    #expect(first == "ACK SBPerson|~|ann \(replica):1\n")
    #expect(replica.count == 32 && replica.allSatisfy(\.isHexDigit))
    #expect(try bench.done("put", "a", "SBPerson|~|ann", "name=Anne") == "ACK SBPerson|~|ann \(replica):2\n")
    #expect(try bench.done("vector", "a") == "\(replica):2\n")
    #expect(try bench.done("put", "a", "SBPerson|~|ann", "name=Anne") == "ACK SBPerson|~|ann -\n")
    #expect(try bench.done("vector", "a") == "\(replica):2\n")
  }

  @Test func aBadLineDoesNotTouchTheOthers() throws {
    let input = """
      'SBPerson|~|ann' name="Ann \\"A\\" Smith"
      SBPerson|~|bob nothing=1
      nonsense

      {"name":"SBPerson|~|carl","fields":{"name":"Carl"}}
      SBPerson|~|dora name=Dora'
      SBGame|~|go owner=SBPerson|~|nobody
      SBPerson|~|eve name=Eve
      """
    let outcome = try bench.tally("put", "a", "-", input: input)
    #expect(outcome.status == 65)
    #expect(
      outcome.lines.map { $0.split(separator: " ")[1] } == ["SBPerson|~|ann", "SBPerson|~|carl", "SBPerson|~|eve"])
    let complaints = outcome.errors.split(separator: "\n")
    #expect(
      complaints.map { $0.prefix(13) }.dropLast() == [
        "tally: line 2", "tally: line 3", "tally: line 6", "tally: line 7",
      ])
    #expect(complaints.last == "tally: 4 bad lines were skipped")
    #expect(try bench.done("list", "a", "SBPerson") == "SBPerson|~|ann\nSBPerson|~|carl\nSBPerson|~|eve\n")
    #expect(try bench.done("get", "a", "SBPerson|~|ann").contains("  name=Ann \"A\" Smith\n"))
    #expect(try bench.done("list", "a", "SBGame").isEmpty)
  }

  @Test func theLastLineNeedsNoLineBreak() throws {
    #expect(try bench.done("put", "a", "-", input: "SBPerson|~|ann\nSBPerson|~|bob").split(separator: "\n").count == 2)
    #expect(try bench.done("put", "a", "-", input: "").isEmpty)
  }

  @Test func whenNobodyReadsAcknowledgementsTheToolStopsAndSaysSo() throws {
    let input = (1...2000).map { "SBPerson|~|p\($0)\n" }.joined()
    try bench.write(input, to: "lines")
    let outcome = try bench.shell("{ \"$0\" put a - --relaxed <lines; echo $? >status; } | head -n 1")
    #expect(outcome.output.hasPrefix("ACK SBPerson|~|p1 "))
    #expect(outcome.errors.hasSuffix(": nobody reads the acknowledgements any more\n"))
    #expect(try bench.bytes("status") == Array("74\n".utf8))
    #expect(try bench.done("verify", "a").hasPrefix("ok "))
  }

  /// The pipes hold all lines and all acknowledgements, so neither side waits for the other.
  @Test func whatWasAcknowledgedSurvivesAKill() throws {
    let (input, output) = (bench.path("lines"), bench.path("acks"))
    #expect(mkfifo(input, 0o600) == 0 && mkfifo(output, 0o600) == 0)
    // The shell opens the pipes: each waits for its other end, and we are that.
    let command = ["/bin/sh", "-c", "exec \"$0\" put a - <lines >acks", Bench.tool]
    let files = Spawn.Files(output: "/dev/null", errors: "/dev/null")
    let process = try Spawn.start(command, in: bench.url.path, files: files)
    let writing = open(input, O_WRONLY | O_CLOEXEC)
    let reading = open(output, O_RDONLY | O_CLOEXEC)
    let lines = (1...400).map { "SBPerson|~|p\($0) name=\($0)\n" }.joined()
    #expect(write(writing, lines, lines.utf8.count) == lines.utf8.count)
    var acks: [UInt8] = []
    while acks.count(where: { $0 == 0x0A }) < 50 { try #require(take(reading, into: &acks)) }
    kill(process, SIGKILL)
    #expect(Spawn.wait(for: process) == -SIGKILL)
    while take(reading, into: &acks) {}
    close(writing)
    close(reading)

    let names = String(decoding: acks, as: UTF8.self).split(separator: "\n").map { $0.split(separator: " ")[1] }
    let present = Set(try bench.done("list", "a", "SBPerson").split(separator: "\n"))
    #expect(names.count >= 50 && present.isSuperset(of: names))
    // At most one more was committed and not yet acknowledged.
    #expect(present.count <= names.count + 1)
    #expect(try bench.done("verify", "a") == "ok \(present.count) checked\n")
    #expect(try bench.done("put", "a", "SBPerson|~|next").hasSuffix(":\(present.count + 1)\n"))
  }

  private func take(_ descriptor: Int32, into bytes: inout [UInt8]) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &buffer, buffer.count)
    bytes += buffer.prefix(max(0, count))
    return count > 0
  }
}
