@main
enum Native {
  static func main() {
    var exercise = Exercise()
    print(exercise.run())
  }
}
