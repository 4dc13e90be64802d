// The npm package redlock 5 beta, as its README shows it.
import Redlock from "redlock5";
import { redlock5 } from "./driver.js";

redlock5("redlock (npm) 5 beta", "redlock5", Redlock);
