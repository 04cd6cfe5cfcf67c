{
  () = "legacy.regions" () {} : () -> () { } else { ^() } else { ^() ^(%a: f32) () = "legacy.use" (%a) {} : (f32) -> () ^() }
}
