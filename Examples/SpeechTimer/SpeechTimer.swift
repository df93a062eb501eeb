import Foundation

/// Four devices with default data that nobody sent them.
///
/// Exit code: 0 if every device ends with the same in every order of meetings, 1 if not, 2 for wrong arguments.
@main
struct SpeechTimer {
  private static let usage = "usage: SpeechTimer   tells the story; NO_COLOR=1 tells it without colors"

  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    if arguments.contains("--help") || arguments.contains("-h") { return print(usage) }
    guard arguments.isEmpty else {
      Terminal().complain(usage)
      exit(2)
    }
    var story = Story()
    do {
      try await story.tell()
    } catch {
      Terminal().complain("The story broke off: \(error)")
      exit(1)
    }
    guard story.failures == 0 else {
      Terminal().complain("\(story.failures) expectations failed")
      exit(1)
    }
  }
}
