//! `math.star`: mathematics on numbers, whole or not.

use starlark::{environment::GlobalsBuilder, starlark_module, values::float::UnpackFloat};

/// What scripts get, from the functions below.
pub(crate) const SOURCE: &str = "math = struct(\
    e = 2.718281828459045, pi = 3.141592653589793, ceil = builtin.ceil, floor = builtin.floor, \
    round = builtin.round, fabs = builtin.fabs, copysign = builtin.copysign, \
    mod = builtin.mod, pow = builtin.pow, exp = builtin.exp, sqrt = builtin.sqrt, \
    log = builtin.log, hypot = builtin.hypot, degrees = builtin.degrees, \
    radians = builtin.radians, sin = builtin.sin, cos = builtin.cos, tan = builtin.tan, \
    asin = builtin.asin, acos = builtin.acos, atan = builtin.atan, atan2 = builtin.atan2, \
    sinh = builtin.sinh, cosh = builtin.cosh, tanh = builtin.tanh, \
    asinh = builtin.asinh, acosh = builtin.acosh, atanh = builtin.atanh)\n";

/// A whole number, if the number is one that fits.
fn whole(number: f64) -> anyhow::Result<i64> {
    let fits = number.is_finite() && number.abs() < 9.2e18;
    anyhow::ensure!(fits, "cannot convert float {number} to integer");
    Ok(number as i64)
}

#[starlark_module]
pub(crate) fn functions(builder: &mut GlobalsBuilder) {
    fn ceil(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<i64> {
        whole(x.0.ceil())
    }
    fn floor(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<i64> {
        whole(x.0.floor())
    }
    fn round(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.round())
    }
    fn fabs(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.abs())
    }
    fn copysign(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(x.0.copysign(y.0))
    }
    fn r#mod(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(x.0 % y.0)
    }
    fn pow(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(x.0.powf(y.0))
    }
    fn exp(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.exp())
    }
    fn sqrt(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.sqrt())
    }
    fn log(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] base: Option<UnpackFloat>,
    ) -> anyhow::Result<f64> {
        Ok(base.map_or_else(|| x.0.ln(), |base| x.0.ln() / base.0.ln()))
    }
    fn hypot(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(x.0.hypot(y.0))
    }
    fn degrees(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.to_degrees())
    }
    fn radians(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.to_radians())
    }
    fn sin(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.sin())
    }
    fn cos(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.cos())
    }
    fn tan(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.tan())
    }
    fn asin(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.asin())
    }
    fn acos(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.acos())
    }
    fn atan(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.atan())
    }
    fn atan2(
        #[starlark(require = pos)] y: UnpackFloat,
        #[starlark(require = pos)] x: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(y.0.atan2(x.0))
    }
    fn sinh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.sinh())
    }
    fn cosh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.cosh())
    }
    fn tanh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.tanh())
    }
    fn asinh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.asinh())
    }
    fn acosh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.acosh())
    }
    fn atanh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.atanh())
    }
}
