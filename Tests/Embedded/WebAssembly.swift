/// What the page that loads the module calls.
@_expose(wasm, "exercise")
@_cdecl("exercise")
public func exercise() -> UInt64 {
  var exercise = Exercise()
  return exercise.run()
}
